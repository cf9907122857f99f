module github.com/smolwc/smolwc/bench

go 1.26.0

require (
	github.com/linxGnu/grocksdb v1.7.14
	github.com/smolwc/smolwc v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/kr/pretty v0.3.1 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/sync v0.24.0 // indirect
	rsc.io/binaryregexp v0.2.0 // indirect
)

replace github.com/smolwc/smolwc => ../
