"""What everything else is made of: types, ports, conditions, checks of arguments, times, ids, the graph."""
