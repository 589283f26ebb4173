;; Drops the same handle twice.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (local $handle i32)
  (local.set $handle (call $subscribe (i64.const 1)))
  (call $drop (local.get $handle))
  (call $drop (local.get $handle))
  (call $state))
