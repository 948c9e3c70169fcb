package command

import (
	"context"
	"fmt"
	"net"
)

// Listen listens on the TCP address that a setting names; its errors name the setting.
func Listen(ctx context.Context, variable, addr string) (net.Listener, error) {
	var l net.ListenConfig
	ln, err := l.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return ln, nil
}
