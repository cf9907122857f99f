//go:build race

package pebble_test

// slow is how much less a test does with the race detector.
const slow = 5
