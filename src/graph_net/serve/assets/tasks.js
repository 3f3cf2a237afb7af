// The tasks of a run.

if (TASKS) taskTable();
document.body.dataset.ready = "yes";
