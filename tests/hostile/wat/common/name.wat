;; `ok("id")`
(func $name (export "purlin:driver/lifecycle@0.3.0#name") (param i32) (result i32)
  (i32.store8 (i32.const 3072) (i32.const 0))
  (i32.store (i32.const 3080) (i32.const 4136)) (i32.store (i32.const 3084) (i32.const 2))
  (i32.const 3072))
