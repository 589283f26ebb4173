;; Waits for a handle that it never received.
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (call $block (i32.const 4711))
  (call $state))
