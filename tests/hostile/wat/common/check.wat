;; `ok(checked)`: no values, no secrets, no warnings.
(func $check (export "purlin:driver/lifecycle@0.3.0#check") (param i32) (result i32)
  (i32.store8 (i32.const 3072) (i32.const 0))
  (i32.store (i32.const 3080) (i32.const 4132)) (i32.store (i32.const 3084) (i32.const 2))
  (i32.store (i32.const 3088) (i32.const 4132)) (i32.store (i32.const 3092) (i32.const 2))
  (i32.store (i32.const 3096) (i32.const 0)) (i32.store (i32.const 3100) (i32.const 0))
  (i32.const 3072))
