;; A component that is handed what it instantiates, so that nobody can count beforehand.
(component
  (component $large (core module $m) (core instance (instantiate $m)))
  (component $twice
    (import "what" (component $what))
    (instance (instantiate $what)) (instance (instantiate $what)))
  (instance (instantiate $twice (with "what" (component $large)))))
