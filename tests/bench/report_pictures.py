#!/usr/bin/env python3
"""Pictures of reports for docs/images, by headless Chromium (and Pillow, which makes them small).

report_pictures.py RUNS OUT
RUNS has the run folders `adult`, `stays`, `fashion` and `actg175` with their report.html and report-private.html (docs/lab/2026-11-27-reports-read.md and, of the last, docs/how-to/report.md have the commands). A folder that is not there: its pictures stay as they are.
"""
import pathlib
import subprocess
import sys

from PIL import Image

PICTURES = {  # name: report, width and height in the page's pixels, scale, dark
    "report-adult": ("adult/report.html", 1440, 2250, 0.6, False),
    "report-stays-private": ("stays/report-private.html", 1440, 2700, 0.6, False),
    "report-stays-phone": ("stays/report-private.html", 390, 2250, 0.8, True),
    "report-public": ("actg175/report.html", 1440, 1900, 0.6, False),
    "report-phone": ("actg175/report-private.html", 390, 2250, 0.8, True),
    "report-images": ("fashion/report.html", 1440, 1900, 0.6, True),
}


def main(runs, out):
    for name, (report, width, height, scale, dark) in PICTURES.items():
        if not (pathlib.Path(runs) / report).exists():
            continue
        picture = pathlib.Path(out) / f"{name}.png"
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}",
                        f"--force-device-scale-factor={scale}", f"--screenshot={picture.resolve()}", *(["--blink-settings=preferredColorScheme=0"] if dark else []),
                        (pathlib.Path(runs) / report).resolve().as_uri()], check=True, capture_output=True, timeout=300)
        with Image.open(picture) as image:
            image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(picture, optimize=True)
        print(f"{picture}: {picture.stat().st_size // 1024} kB", flush=True)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
