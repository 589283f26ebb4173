;; Writes `ok(state)` to 2048: a discriminant, and the state 8 bytes on.
(func $state (result i32)
  (i32.store8 (i32.const 2048) (i32.const 0))
  (i32.store (i32.const 2056) (i32.const 4136)) (i32.store (i32.const 2060) (i32.const 2))
  (i32.store (i32.const 2064) (i32.const 4132)) (i32.store (i32.const 2068) (i32.const 2))
  (i32.store (i32.const 2072) (i32.const 4132)) (i32.store (i32.const 2076) (i32.const 2))
  (i32.store (i32.const 2080) (i32.const 0)) (i32.store (i32.const 2084) (i32.const 0))
  (i32.store (i32.const 2088) (i32.const 0)) (i32.store (i32.const 2092) (i32.const 0))
  (i32.const 2048))
