"""Proper names: people, cities, countries, days and months."""

FIRST_NAMES = """
m: John Peter Thomas Paul David Daniel Martin Robert Simon Samuel Michel Philippe Pierre Nicolas Antoine Lucas Tom Max
f: Mary Anna Julie Sophie Claire Emma Laura Alice Camille Nathalie Sarah Lisa Catherine Monique Jane Lucy
"""

SURNAMES = """
Smith Johnson Brown Miller Wilson Taylor Clark Lewis Walker Young King Wright Scott Baker Adams Nelson Carter
Mitchell Turner Parker Collins Edwards Stewart Morris Murphy Cook Rogers Morgan Cooper Reed Bailey Bell Kelly
Ward Cox Richardson Dupont Durand Lefebvre Moreau Girard Rousseau Mercier Lambert Fontaine Garnier Schmidt Weber
Keller Vogel Rossi Bianchi Kowalski Novak Petrov Ivanov Tanaka Sato Nguyen Silva Costa Santos Garcia Lopez
Navarro Ortega
"""

CITIES = """
London=Londres Paris=Paris Brussels=Bruxelles Geneva=Genève Vienna=Vienne Moscow=Moscou Berlin=Berlin
Madrid=Madrid Rome=Rome Montreal=Montréal Toronto=Toronto Ottawa=Ottawa Strasbourg=Strasbourg Lisbon=Lisbonne
Warsaw=Varsovie Beijing=Pékin Tokyo=Tokyo Barcelona=Barcelone Venice=Venise Dublin=Dublin Prague=Prague
Kiev=Kiev Lyon=Lyon Marseille=Marseille Boston=Boston Chicago=Chicago Jerusalem=Jérusalem Athens=Athènes
Copenhagen=Copenhague Stockholm=Stockholm Edinburgh=Édimbourg
"""

COUNTRIES = """
France=France:f Germany=Allemagne:f England=Angleterre:f Spain=Espagne:f Italy=Italie:f Russia=Russie:f
China=Chine:f India=Inde:f Canada=Canada:m Japan=Japon:m Brazil=Brésil:m Portugal=Portugal:m Mexico=Mexique:m
Poland=Pologne:f Greece=Grèce:f Belgium=Belgique:f Turkey=Turquie:f Egypt=Égypte:f Iraq=Irak:m Iran=Iran:m
Ireland=Irlande:f Norway=Norvège:f Sweden=Suède:f Denmark=Danemark:m the_United_States=États-Unis:p
the_Netherlands=Pays-Bas:p Switzerland=Suisse:f Austria=Autriche:f Ukraine=Ukraine:f Morocco=Maroc:m
"""

WEEKDAYS = (
    "Monday=lundi Tuesday=mardi Wednesday=mercredi Thursday=jeudi Friday=vendredi Saturday=samedi Sunday=dimanche"
)

MONTHS = """
January=janvier February=février March=mars April=avril May=mai June=juin July=juillet August=août
September=septembre October=octobre November=novembre December=décembre
"""

SYLLABLES = """
ka ro mi ven dal tor bes li na shu per gal os em ri to lan vi sko ber dra qui zan fel mor tis ul ne cas bra
"""
"""What names nobody has heard before are made of: the long tail that a test text always has."""
