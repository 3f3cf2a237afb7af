"""Programs of tasks: spaces, tuners' files, collection, store, features, the data set."""
