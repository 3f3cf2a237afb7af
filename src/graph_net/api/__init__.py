"""What ``import graph_net`` offers, a file for each function; the command line calls the same."""
