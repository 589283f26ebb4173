(func $update (export "purlin:driver/lifecycle@0.3.0#update") (param i32) (result i32) (loop $again (br $again)) (unreachable))
