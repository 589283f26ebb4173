;; An invalid kind of failure.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store8 (i32.const 2048) (i32.const 1)) (i32.store8 (i32.const 2056) (i32.const 200))
  (i32.const 2048))
