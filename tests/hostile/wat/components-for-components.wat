;; A component that imports the component that it instantiates, so its instances cannot be counted in advance.
(component
  (component $large (core module $m) (core instance (instantiate $m)))
  (component $twice
    (import "what" (component $what))
    (instance (instantiate $what)) (instance (instantiate $what)))
  (instance (instantiate $twice (with "what" (component $large)))))
