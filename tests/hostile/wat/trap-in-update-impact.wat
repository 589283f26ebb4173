(func $update-impact (export "purlin:driver/lifecycle@0.2.0#update-impact") (param i32) (result i32) (unreachable))
