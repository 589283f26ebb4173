;; A string of 4 GiB.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store (i32.const 2068) (i32.const 0xffffffff))
  (i32.const 2048))
