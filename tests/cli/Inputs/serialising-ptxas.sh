#!/bin/sh
# Stands in for ptxas: says that it serialises wgmma where the PTX has a line with $SERIALISED.
# `serialising-ptxas.sh pantilec ...` runs pantilec with it.
if [ "$1" = pantilec ]; then
  REAL_PTXAS=$PANTILE_PTXAS_PATH PANTILE_PTXAS_PATH=$0 exec "$@"
fi
[ "$1" = --version ] && exec "$REAL_PTXAS" --version
for word; do
  [ -p "$word" ] && exit 3 # a file is given next
  case $word in
  *.ptx)
    grep -q "$SERIALISED" "$word" &&
      echo "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are" \
        "serialized due to insufficient register resources for the function in the function 'k'"
    ;;
  esac
done
exec "$REAL_PTXAS" "$@"
