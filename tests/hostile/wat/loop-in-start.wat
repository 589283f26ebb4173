;; Never comes to life.
(func $start (loop $again (br $again)))
(start $start)
