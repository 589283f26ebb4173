;; Calls imports from `describe`, which must not call any.
(import "purlin:driver/log@0.2.0" "write" (func $write (param i32 i32 i32)))
(import "purlin:driver/operation@0.2.0" "checkpoint" (func $checkpoint (param i32 i32)))
(func $describe (export "purlin:driver/lifecycle@0.2.0#describe") (result i32)
  (call $write (i32.const 4) (i32.const 4096) (i32.const 15))
  (call $checkpoint (i32.const 4136) (i32.const 2))
  (i32.const 1024))
(data (i32.const 1024) "\00\10\00\00\0f\00\00\00\10\10\00\00\05\00\00\00\24\10\00\00\02\00\00\00\00\00\00\00\40\04\00\00\01\00\00\00\00\00\00\00\00\00\00\00")
(data (i32.const 1088) "\20\10\00\00\01\00\00\00\24\10\00\00\02\00\00\00\24\10\00\00\02\00\00\00")
