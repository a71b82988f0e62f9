#!/usr/bin/env bash
# A base image without a registry: `make.sh FILE.tar` writes Debian with Python, from Debian's own packages.
#
# Needs root and debootstrap. What a container has no use for is left out: documents but for licences, translations,
# lists of packages. `docker import FILE.tar NAME` makes the image; docker/build.py does both, and keeps the file.
set -euo pipefail

archive=${1:?the tar file to write}
suite=${SUITE:-bookworm}
[ "$(id -u)" = 0 ] || { echo "make.sh: debootstrap needs root" >&2; exit 1; }

scratch=$(mktemp -d "$(dirname "$archive")/.base-XXXXXX")
tree=$scratch/tree
trap 'umount "$tree" 2>/dev/null || true; rm -rf --one-file-system "$scratch"' EXIT
mkdir "$tree"
# In memory where that may be had: dpkg syncs every file, which a disk that others use makes a matter of minutes.
mount -t tmpfs -o size=1g,mode=755 tmpfs "$tree" 2>/dev/null || true

debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$tree" >"$scratch/log" 2>&1 ||
    { tail -n 20 "$scratch/log" "$tree/debootstrap/debootstrap.log" >&2; exit 1; }

# For what is installed later, and for what is there.
cat >"$tree/etc/dpkg/dpkg.cfg.d/small" <<'END'
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
END
find "$tree/usr/share/doc" -depth \( -type f -o -type l \) ! -name copyright -delete
rm -rf "$tree"/usr/share/{locale,man,info}/* "$tree"/var/cache/apt/* "$tree"/var/lib/apt/lists/* "$tree"/var/log/*
mkdir -p "$tree/var/cache/apt/archives/partial" "$tree/var/lib/apt/lists/partial"

tar -C "$tree" --numeric-owner -c . >"$scratch/made.tar"
mv "$scratch/made.tar" "$archive"
