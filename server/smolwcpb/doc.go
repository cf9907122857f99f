// Package smolwcpb has the messages and the services of smolwc's own API:
// database_admin.proto describes what an operator does to a served database as a
// whole, activity.proto what a server says about its own work, and standbys.proto
// what standbys need. All other files are made from these.
package smolwcpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative database_admin.proto activity.proto standbys.proto
