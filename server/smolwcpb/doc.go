// Package smolwcpb has the messages and the service of smolwc's own API, which
// database_admin.proto describes: what an operator does to a served database as
// a whole. All other files are made from that one.
package smolwcpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative database_admin.proto
