// Package smolwcpb defines the messages and the services of smolwc's own API:
// database_admin.proto describes what an operator does to a served database as a whole,
// activity.proto what a server says about its own work, standbys.proto what standbys need,
// and smolwc_data.proto batches of rows and statements. All other files are made from
// these. smolwc_data.proto needs a copy of googleapis beside this repository.
package smolwcpb

//go:generate protoc -I. -I../../../googleapis --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative database_admin.proto activity.proto standbys.proto smolwc_data.proto
