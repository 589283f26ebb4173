;; A second memory, with 64-bit addresses, that grows without limit.
(memory $wide i64 1)
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (memory.grow $wide (i64.const 0x100000000)))
  (call $state))
