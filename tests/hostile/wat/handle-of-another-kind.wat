;; Uses a stream as a pollable.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (call $block (call $stdout))
  (call $state))
