module acme/note

go 1.24
