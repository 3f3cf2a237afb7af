"""The functions of ``import graph_net``, one file each; the command line calls them too."""

__all__: list[str] = []
