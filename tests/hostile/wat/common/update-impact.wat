;; `ok(impact)`: it replaces nothing.
(func $update-impact (export "purlin:driver/lifecycle@0.3.0#update-impact") (param i32) (result i32)
  (i32.store8 (i32.const 3072) (i32.const 0))
  (i32.store (i32.const 3080) (i32.const 0)) (i32.store (i32.const 3084) (i32.const 0))
  (i32.store8 (i32.const 3088) (i32.const 0))
  (i32.store (i32.const 3092) (i32.const 0)) (i32.store (i32.const 3096) (i32.const 0))
  (i32.const 3072))
