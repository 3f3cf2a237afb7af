// One task, as the report shows it.

showTask(section("view").dataset.task).then(() => { document.body.dataset.ready = "yes"; });
