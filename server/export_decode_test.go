package server

// DecodeWrite is for tests.
var DecodeWrite = decodeWrite
