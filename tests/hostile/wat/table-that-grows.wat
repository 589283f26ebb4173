;; A table that grows until the host allows no more.
(table $table 1 funcref)
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (loop $again
    (br_if $again (i32.ne (table.grow $table (ref.null func) (i32.const 1000)) (i32.const -1))))
  (unreachable))
