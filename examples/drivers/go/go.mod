module acme/note

go 1.24

require purlin.dev/purlin v0.0.0

replace purlin.dev/purlin => ./purlin
