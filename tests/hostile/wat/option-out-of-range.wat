;; An invalid option: neither a resource nor none.
(func $read (export "purlin:driver/lifecycle@0.3.0#read") (param i32) (result i32)
  (i32.store8 (i32.const 3072) (i32.const 0))
  (i32.store8 (i32.const 3080) (i32.const 2))
  (i32.const 3072))
