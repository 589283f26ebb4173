;; A boolean with the value 255 is true.
(func $update-impact (export "purlin:driver/lifecycle@0.3.0#update-impact") (param i32) (result i32)
  (memory.fill (i32.const 3072) (i32.const 0) (i32.const 32))
  (i32.store8 (i32.const 3088) (i32.const 255))
  (i32.const 3072))
