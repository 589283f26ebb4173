;; A surrogate, encoded as UTF-8.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store (i32.const 4132) (i32.const 0x80a0ed)) (i32.store (i32.const 2068) (i32.const 3))
  (i32.const 2048))
