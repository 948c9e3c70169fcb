package faultnet

import (
	"math/rand/v2"
	"net"
)

// FreeAddr is an address on loopback that nothing listens on, for a program that is about to.
// It lies below the ports that a system gives to outgoing connections: one of those would
// often be taken again before the program is up. The port 10,000 above it, a Redis cluster's
// bus, is below those, too, and no other address of this kind.
func FreeAddr() string {
	const low, high = 10_000, 20_000
	for {
		addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: low + rand.IntN(high-low)}
		if l, err := net.ListenTCP("tcp", addr); err == nil && l.Close() == nil {
			return addr.String()
		}
	}
}
