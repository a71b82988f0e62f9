"""The declarations, one module an area, and nothing else. `ottla.config.broker` adds the broker's areas up."""
