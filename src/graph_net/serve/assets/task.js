// One task, as the report shows it; its programs as code follow when they are written.

const task = section("view").dataset, writing = section("writing");

async function withCode() {
  const answer = await fetch(`/task.json?${new URLSearchParams({run: task.run, id: task.task})}`);
  if (answer.ok) {
    unpacked.set("tasks", await answer.json());
    await showTask(task.task);
    writing.remove();
  } else writing.textContent = "The programs cannot be written as code here; above are their schedules.";
  document.body.dataset.code = "yes";
}

showTask(task.task).then(() => {
  document.body.dataset.ready = "yes";
  return withCode();
});
