//go:build !race

package pebble_test

const slow = 1
