(func $start unreachable)
(start $start)
