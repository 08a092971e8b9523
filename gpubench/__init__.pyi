from gpubench.api import Compared as Compared
from gpubench.api import Operand as Operand
from gpubench.api import Operator as Operator
from gpubench.api import Result as Result
from gpubench.api import Tolerance as Tolerance
from gpubench.api import case as case
from gpubench.api import contender as contender
from gpubench.api import operator as operator
from gpubench.api import read as read
from gpubench.api import run as run
from gpubench.api import suite as suite

__version__: str
