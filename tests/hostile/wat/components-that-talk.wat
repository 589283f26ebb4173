;; One component passes a string to another, for which the engine compiles code that uses both memories.
(component
  (component $taker
    (core module $m
      (memory (export "memory") 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
      (func (export "take") (param i32 i32)))
    (core instance $i (instantiate $m))
    (func (export "take") (param "text" string)
      (canon lift (core func $i "take") (memory $i "memory") (realloc (func $i "realloc")))))
  (component $giver
    (import "take" (func $take (param "text" string)))
    (core module $texts (memory (export "memory") 1))
    (core instance $texts (instantiate $texts))
    (core func $lowered (canon lower (func $take) (memory $texts "memory")))
    (core module $m (import "" "take" (func (param i32 i32))))
    (core instance (instantiate $m (with "" (instance (export "take" (func $lowered)))))))
  (instance $t (instantiate $taker))
  (instance (instantiate $giver (with "take" (func $t "take")))))
