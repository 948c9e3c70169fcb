package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on the TCP address that a setting names; its errors name the setting.
func Listen(ctx context.Context, variable, addr string) (net.Listener, error) {
	var l net.ListenConfig
	ln, err := l.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %w\n  Stop the program that listens there, or choose another address.", variable, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return ln, nil
}
