//go:build !race

package main

const raceMemory = 1
