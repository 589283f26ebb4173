;; Its instantiation never finishes.
(func $start (loop $again (br $again)))
(start $start)
