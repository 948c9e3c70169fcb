package faultnet

import (
	"math/rand/v2"
	"net"
)

// FreeAddr is an address on loopback that nothing listens on, for a program that is about to.
// It lies below the ports that a system gives to outgoing connections: one of those would
// often be taken again before the program is up. There is room for a Redis cluster's bus
// 10,000 above it.
func FreeAddr() string {
	const low, high = 10_000, 32_000
	for {
		addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: low + rand.IntN(high-low)}
		if l, err := net.ListenTCP("tcp", addr); err == nil && l.Close() == nil {
			return addr.String()
		}
	}
}
