"""The broker as a process: trio, sockets, threads, and the drivers of the pure cores. Nothing below imports this."""
