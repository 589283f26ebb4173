;; A module whose imports are named with terminal escapes, which the parser repeats in its message.
(component
  (core module $m (import "\1b[2J\1b]0;x\07" "\e2\80\ae" (func)))
  (core instance (instantiate $m)))
